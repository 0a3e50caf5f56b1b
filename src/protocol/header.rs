//! Which header a message has. Source: `ApiKeys` and the generated `ApiMessageType` of Apache Kafka; KIP-482, KIP-511.

use super::{ApiKey, Plan};

/// The version of a request's header: 2 where the request is flexible, else 1.
///
/// ControlledShutdown v0 is from before client ids: its header is v0.
pub(super) fn request_header_version(body: &Plan) -> i16 {
    let key = body.api_key.map(ApiKey);
    if key == Some(ApiKey::CONTROLLED_SHUTDOWN) && body.version == 0 {
        return 0;
    }
    if body.flexible { 2 } else { 1 }
}

/// The version of a response's header: 1 where the response is flexible, else 0.
///
/// ApiVersions responses always have v0, so that a client that does not know the broker's versions can read them.
pub(super) fn response_header_version(body: &Plan) -> i16 {
    let key = body.api_key.map(ApiKey);
    if key == Some(ApiKey::API_VERSIONS) {
        return 0;
    }
    i16::from(body.flexible)
}

use super::*;
use crate::dissect::{Deaf, Fault, Known, Opening, Reading, Tree, Value, What, dissect, dissect_payload, value_of};
use crate::protocol::{Catalog, Side};

/// What a token says: names and values of its fields, marks, and what is left.
fn said(catalog: &Catalog, mechanism: &str, token: &[u8]) -> Vec<String> {
    let plan = catalog.token_plan(mechanism, token).unwrap();
    let mut tree = Tree::new();
    dissect_payload(plan, token, &mut tree);
    check_tiles(&tree, token);
    let mut said = vec![plan.name.to_string()];
    for node in tree.nodes() {
        let bytes = tree.bytes(token, node.span);
        let text = String::from_utf8_lossy(bytes);
        match node.what {
            What::Value(place) => said.push(match value_of(place.ty(), bytes).unwrap() {
                Value::Int(number) => format!("{} {number}", place.field().unwrap().key()),
                _ => format!("{} {text}", place.field().unwrap().key()),
            }),
            What::Part(Part::Undecoded(_)) => said.push(format!("undecoded {text}")),
            What::Part(Part::Trailing(_)) => said.push(format!("trailing {text}")),
            What::Fault(index) => said.push(fault_text(tree.fault_at(index).unwrap())),
            _ => {}
        }
    }
    said
}

fn fault_text(fault: &Fault) -> String {
    format!("!! {}: {}, not {}", fault.path, fault.expected(), fault.found())
}

fn check_tiles(tree: &Tree<'_>, bytes: &[u8]) {
    let mut end = 0;
    for node in tree.nodes().iter().filter(|node| node.is_leaf()) {
        assert_eq!(node.span.start, end, "{node:?}");
        end = node.span.end();
    }
    assert_eq!(end as usize, bytes.len());
}

#[test]
fn plain_as_in_rfc_4616() {
    let catalog = Catalog::builtin();
    let said = |token: &[u8]| said(&catalog, "PLAIN", token);
    assert_eq!(said(b"\0tim\0tanstaaftanstaaf"), ["SaslPlain", "username tim", "password tanstaaftanstaaf"]);
    let as_another = ["SaslPlain", "authorizationId Ursel", "username Kurt", "password xipj3plmq"];
    assert_eq!(said(b"Ursel\0Kurt\0xipj3plmq"), as_another);
    // What is left may be a secret, so the fault does not tell it.
    let cut = ["SaslPlain", "!! username: NUL behind it, not 3 bytes of something else", "undecoded tim"];
    assert_eq!(said(b"\0tim"), cut);
    assert_eq!(said(b"\0tim\0pass\0word")[2..], ["password pass", "trailing \0word"]);
}

#[test]
fn scram_as_in_rfc_5802_and_7677() {
    let catalog = Catalog::builtin();
    let said = |token: &str| said(&catalog, "SCRAM-SHA-256", token.as_bytes());
    // The exchange of RFC 7677.
    assert_eq!(
        said("n,,n=user,r=rOprNGfwEbeRWgbNEkqO"),
        ["SaslScramClientFirst", "channelBindingFlag n", "username user", "nonce rOprNGfwEbeRWgbNEkqO"]
    );
    assert_eq!(
        said("r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"),
        [
            "SaslScramServerFirst",
            "nonce rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
            "salt W22ZaJ0SNY7soEsUEjb6gQ==",
            "iterations 4096"
        ]
    );
    assert_eq!(
        said(
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        ),
        [
            "SaslScramClientFinal",
            "channelBinding biws",
            "nonce rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
            "proof dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        ]
    );
    assert_eq!(
        said("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="),
        ["SaslScramServerFinal", "serverSignature 6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="]
    );
    assert_eq!(said("e=unknown-user"), ["SaslScramServerFinal", "error unknown-user"]);
    // All that a client's first message may have.
    assert_eq!(
        said("p=tls-unique,a=adm=2Cin,m=x,n=us=3Der,r=abc,tokenauth=true,x=y=z,w="),
        [
            "SaslScramClientFirst",
            "channelBindingFlag p=tls-unique",
            "authorizationId adm=2Cin",
            "mandatoryExtension x",
            "username us=3Der",
            "nonce abc",
            "tokenAuth true",
            "name x",
            "value y=z",
            "name w",
            "value "
        ]
    );
    assert_eq!(
        said("c=biws,r=abc,x=1,tokenauth=true,p=cHJvb2Y="),
        [
            "SaslScramClientFinal",
            "channelBinding biws",
            "nonce abc",
            "name x",
            "value 1",
            "name tokenauth",
            "value true",
            "proof cHJvb2Y="
        ]
    );
}

#[test]
fn scram_that_is_written_otherwise() {
    let catalog = Catalog::builtin();
    let last = |token: &str| said(&catalog, "SCRAM-SHA-512", token.as_bytes()).split_off(1);
    let cases: [(&str, &[&str]); 9] = [
        ("n", &["channelBindingFlag n", "!! authorizationId: a comma, not the end"]),
        (
            "no,,n=u,r=1",
            &["!! channelBindingFlag: n, y or p=, not 11 bytes of something else", "undecoded no,,n=u,r=1"],
        ),
        (
            "n,u,n=u,r=1",
            &[
                "channelBindingFlag n",
                "!! authorizationId: \"a=\", not 9 bytes of something else",
                "undecoded u,n=u,r=1",
            ],
        ),
        ("n,,r=1", &["channelBindingFlag n", "!! username: \"n=\", not 3 bytes of something else", "undecoded r=1"]),
        (
            "r=1,s=abc=,i=many",
            &["nonce 1", "salt abc=", "!! iterations: digits, not 4 bytes of something else", "undecoded many"],
        ),
        (
            "r=1,s=abc=,i=1,",
            &["nonce 1", "salt abc=", "iterations 1", "!! extensions[0].name: a name and =, not the end"],
        ),
        ("r=1,s=abc=", &["nonce 1", "salt abc=", "!! iterations: \"i=\", not the end"]),
        (
            "c=biws,r=1,p",
            &[
                "channelBinding biws",
                "nonce 1",
                "!! extensions[0].name: a name and =, not 1 byte of something else",
                "undecoded p",
            ],
        ),
        (
            "v=abc,=x",
            &[
                "serverSignature abc",
                "!! extensions[0].name: a name and =, not 2 bytes of something else",
                "undecoded =x",
            ],
        ),
    ];
    for (token, expected) in cases {
        assert_eq!(last(token), expected, "{token}");
    }
    // Something that no message of SCRAM begins with is left closed.
    assert!(catalog.token_plan("SCRAM-SHA-256", b"{}").is_none());
    assert!(catalog.token_plan("SCRAM-SHA-1", b"n,,n=user,r=1").is_none());
    assert!(catalog.token_plan("GSSAPI", b"n").is_none());
    assert!(catalog.token_plan("", b"\0a\0b").is_none());
}

/// The example of RFC 7519, section 3.1, signed as in RFC 7515, appendix A.1.
const JWT: [&str; 3] = [
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9",
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
    "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
];

#[test]
fn oauthbearer_as_in_rfc_7628() {
    let catalog = Catalog::builtin();
    let said = |token: &str| said(&catalog, "OAUTHBEARER", token.as_bytes());
    assert_eq!(
        said(
            "n,a=user@example.com,\x01host=server.example.com\x01port=143\x01auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01"
        ),
        [
            "SaslOauthbearer",
            "channelBindingFlag n",
            "authorizationId user@example.com",
            "name host",
            "value server.example.com",
            "name port",
            "value 143",
            "name auth",
            "scheme Bearer",
            "token vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==",
        ]
    );
    let [header, claims, signature] = JWT;
    // Extensions as in KIP-342; a pair may begin with a comma.
    assert_eq!(
        said(&format!("n,,\x01auth=bearer {header}.{claims}.{signature}\x01,x=\x01\x01"))[1..],
        [
            "channelBindingFlag n".to_owned(),
            "name auth".to_owned(),
            "scheme bearer".to_owned(),
            format!("header {header}"),
            format!("claims {claims}"),
            format!("signature {signature}"),
            "name ,x".to_owned(),
            "value ".to_owned(),
        ]
    );
    // An unsecured token (RFC 7519, section 6) has no signature.
    let unsecured = said(&format!("n,,\x01auth=Bearer {header}.{claims}.\x01\x01"));
    assert_eq!(unsecured.last(), Some(&format!("claims {claims}")));
    // What is no JWT may be all secret: other parts, other schemes, parts that are no JSON.
    for auth in [
        format!("Bearer {header}.{claims}"),
        format!("Bearer {header}.{claims}.{signature}.{signature}.{signature}"),
        format!("Bearer {claims}x.{header}.{signature}"),
        "Bearer a.b.c".to_owned(),
    ] {
        let token = auth.strip_prefix("Bearer ").unwrap();
        assert_eq!(said(&format!("n,,\x01auth={auth}\x01\x01")).last(), Some(&format!("token {token}")));
    }
    let basic = said(&format!("n,,\x01auth=Basic {header}.{claims}.{signature}\x01\x01"));
    assert_eq!(basic.last(), Some(&format!("token Basic {header}.{claims}.{signature}")));
    // The error and the client's answer to it.
    let error = r#"{"status":"invalid_token","scope":"example_scope"}"#;
    assert_eq!(said(error), ["SaslOauthbearerError".to_owned(), format!("error {error}")]);
    assert_eq!(said("\x01"), ["SaslOauthbearer"]);
}

#[test]
fn oauthbearer_that_is_written_otherwise() {
    let catalog = Catalog::builtin();
    let last = |token: &str| said(&catalog, "OAUTHBEARER", token.as_bytes()).split_off(1);
    let cases: [(&str, &[&str]); 5] = [
        ("n,,", &["channelBindingFlag n", "!! pairs: a byte of 1, not the end"]),
        ("n,,\x01", &["channelBindingFlag n", "!! pairs: a byte of 1, not the end"]),
        ("n,,\x01a=b", &["channelBindingFlag n", "name a", "value b", "!! pairs[0].value: a byte of 1, not the end"]),
        ("n,,\x01a=b\x01", &["channelBindingFlag n", "name a", "value b", "!! pairs: a byte of 1, not the end"]),
        (
            "n,,\x01a=b\x01cd\x01\x01",
            &[
                "channelBindingFlag n",
                "name a",
                "value b",
                "!! pairs[1].name: a name and =, not 4 bytes of something else",
                "undecoded cd\x01\x01",
            ],
        ),
    ];
    for (token, expected) in cases {
        assert_eq!(last(token), expected, "{token:?}");
    }
    assert_eq!(last("n,,\x01\x01x"), ["channelBindingFlag n", "trailing x"]);
}

#[test]
fn names_lose_their_escapes() {
    assert_eq!(sasl_name(b"CN=3Dalice=2COU=3Dx"), b"CN=alice,OU=x");
    // Others are none.
    assert_eq!(sasl_name(b"a=2c=3=="), b"a=2c=3==");
}

#[test]
fn jwt_parts_are_json_in_base64url() {
    let claims = "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}";
    assert_eq!(jwt_json(JWT[1].as_bytes()).as_deref(), Some(claims));
    assert_eq!(jwt_json(b"e30=").as_deref(), Some("{}"));
    assert_eq!(jwt_json(b"e+0"), None);
    assert_eq!(jwt_json(b"_w"), None, "no UTF-8");
}

/// One of each step, with all that it may have.
const TOKENS: [(&str, &str); 8] = [
    ("PLAIN", "Ursel\0Kurt\0xipj3plmq"),
    ("SCRAM-SHA-256", "p=tls-unique,a=adm=2Cin,m=x,n=us=3Der,r=abc,tokenauth=true,x=y,w="),
    ("SCRAM-SHA-256", "m=x,r=abc,s=W22Z,i=4096,x=y,z=1"),
    ("SCRAM-SHA-512", "c=biws,r=abc,x=y,p=dHzb"),
    ("SCRAM-SHA-512", "v=6rriTRBi,x=y"),
    ("OAUTHBEARER", "n,a=u,\x01host=h\x01auth=Bearer e30.e30.sig\x01x=y\x01\x01"),
    ("OAUTHBEARER", "n,,\x01auth=Bearer opaque\x01\x01"),
    ("OAUTHBEARER", "{\"status\":\"invalid_token\"}"),
];

/// Walks bytes as a bare token, and as a payload, with all leaves in place.
fn walk(catalog: &Catalog, mechanism: &str, token: &[u8], missing: u32) {
    let known = Known { mechanism: Word::from(mechanism).unwrap(), ..Known::default() };
    let body = catalog.plan("SaslToken", 0);
    let reading = Reading { side: Side::Request, header: None, body, sized: false, missing, known };
    let mut tree = Tree::opened(Opening::new(catalog));
    let outcome = dissect(&reading, token, &mut tree);
    check_tiles(&tree, token);
    assert_eq!(tree.faults().len(), outcome.faults as usize);
    assert!(missing == 0 || outcome.faults > 0);
    // Who does not open tokens sees one value.
    assert_eq!(dissect(&reading, token, &mut Deaf).faults, u32::from(missing > 0));
    if let Some(plan) = catalog.token_plan(mechanism, token) {
        let mut tree = Tree::new();
        let outcome = dissect_payload(plan, token, &mut tree);
        check_tiles(&tree, token);
        let left = tree.nodes().iter().any(|node| matches!(node.what, What::Part(Part::Undecoded(_))));
        assert_eq!(left, outcome.undecoded > 0);
    }
}

#[test]
fn leaves_tile_whatever_the_bytes_are() {
    let catalog = Catalog::builtin();
    for (mechanism, token) in TOKENS {
        let token = token.as_bytes();
        assert!(dissect_payload(catalog.token_plan(mechanism, token).unwrap(), token, &mut Deaf).is_exact());
        for length in 0..=token.len() {
            walk(&catalog, mechanism, &token[..length], 0);
            walk(&catalog, mechanism, &token[..length], 9);
        }
        for place in 0..token.len() {
            for byte in [0, 1, b',', b'=', b'.', b' ', b'{', b'a', 0xff] {
                let mut changed = token.to_vec();
                changed[place] = byte;
                walk(&catalog, mechanism, &changed, 0);
                changed.insert(place, byte);
                walk(&catalog, mechanism, &changed, 0);
            }
        }
    }
    let mut generator = fastrand::Rng::with_seed(3);
    for _ in 0..2000 {
        let noise: Vec<u8> =
            (0..generator.usize(..40)).map(|_| *generator.choice(b"\0\x01n,=rsicpve.a {\"}").unwrap()).collect();
        for mechanism in ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI"] {
            walk(&catalog, mechanism, &noise, 0);
        }
    }
}

#[test]
fn tokens_without_end_stay_closed() {
    let catalog = Catalog::builtin();
    let known = Known { mechanism: Word::from("OAUTHBEARER").unwrap(), ..Known::default() };
    let body = catalog.plan("SaslToken", 0);
    let reading = Reading { side: Side::Request, header: None, body, sized: false, missing: 0, known };
    for (pairs, is_opened) in [(1000, true), (MAX_TOKEN / 4, false)] {
        let token = format!("n,,\x01{}\x01", "a=b\x01".repeat(pairs));
        let mut tree = Tree::opened(Opening::new(&catalog));
        dissect(&reading, token.as_bytes(), &mut tree);
        assert_eq!(tree.nodes().len() > 1000, is_opened);
    }
}

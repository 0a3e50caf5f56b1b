//! What is given up when the interface is open.

use crate::Failure;
use kafkascope::capture::live::EXIT_FAILED;

/// Gives up all privileges, for good: root becomes the user who called `sudo`, else nobody; capabilities are cleared.
///
/// # Errors
/// When they cannot be given up.
pub(crate) fn give_up() -> Result<(), Failure> {
    #[cfg(unix)]
    leave_root()?;
    #[cfg(target_os = "linux")]
    clear_capabilities().map_err(|error| failure(&format!("capabilities cannot be given up: {error}")))?;
    Ok(())
}

fn failure(says: &str) -> Failure {
    Failure { exit: EXIT_FAILED, says: says.to_owned() }
}

/// Becomes someone else, when this is root.
#[cfg(unix)]
fn leave_root() -> Result<(), Failure> {
    use nix::errno::Errno;
    use nix::unistd::{Gid, Uid, User, geteuid, getuid, setgid, setgroups, setuid};

    if !geteuid().is_root() {
        return Ok(());
    }
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok().filter(|number| *number > 0);
    let (user, group) = if !getuid().is_root() {
        // Set-uid: back to who called.
        (getuid(), nix::unistd::getgid())
    } else if let (Some(user), Some(group)) = (number("SUDO_UID"), number("SUDO_GID")) {
        (Uid::from_raw(user), Gid::from_raw(group))
    } else {
        let nobody = User::from_name("nobody").ok().flatten();
        nobody.map_or((Uid::from_raw(65534), Gid::from_raw(65534)), |nobody| (nobody.uid, nobody.gid))
    };
    // The groups of root can be left only while this is root. The system of Apple has no such call that is safe.
    #[cfg(not(any(target_os = "macos", target_os = "ios")))]
    let outcome = setgroups(&[group]).and_then(|()| setgid(group)).and_then(|()| setuid(user));
    #[cfg(any(target_os = "macos", target_os = "ios"))]
    let outcome = setgid(group).and_then(|()| setuid(user));
    match outcome {
        // In a container root may be without the capability to become someone else; then it has nothing else either.
        Ok(()) | Err(Errno::EPERM) => Ok(()),
        Err(error) => Err(failure(&format!("root cannot be left: {error}"))),
    }
}

#[cfg(target_os = "linux")]
fn clear_capabilities() -> Result<(), caps::errors::CapsError> {
    use caps::CapSet;

    // Ambient ones go with the inheritable ones.
    [CapSet::Effective, CapSet::Inheritable, CapSet::Permitted].into_iter().try_for_each(|set| caps::clear(None, set))
}

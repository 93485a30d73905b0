//! Allowed arguments of an SSH client. The client expands some texts: `%r` in a file's name is the user,
//! `${NAME}` a variable, and `user@` before an address another user. A text that the client would expand
//! differs from the checked one.

/// Why a text is not the name of a user to enter a host as, after "the user".
#[must_use]
pub fn user_fault(user: &str) -> Option<&'static str> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+@".contains(&byte);
    let begins = user.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if user.len() > 255 {
        Some("is longer than 255 characters")
    } else if begins && user.bytes().all(good) {
        None
    } else {
        Some("must begin with a letter, a digit or `_`, and consist of letters, digits and `._-+@`")
    }
}

/// Why a text is not an address or a DNS name to enter a host by, after "the address".
#[must_use]
pub fn address_fault(address: &str) -> Option<&'static str> {
    let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(address);
    let (bare, zone) = bare.split_once('%').map_or((bare, None), |(bare, zone)| (bare, Some(zone)));
    let is_good_zone = |zone: &str| {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        !zone.is_empty() && zone.bytes().all(good)
    };
    if bare.parse::<std::net::IpAddr>().is_ok() {
        return (!zone.is_none_or(is_good_zone)).then_some("has a zone that is not the name of an interface");
    }
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let begins = bare.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_name = begins && bare.len() <= 255 && bare.bytes().all(good) && address == bare;
    if is_name { None } else { Some("is neither an IP address nor a DNS name") }
}

/// Why a text is not the path of a file that an SSH client opens under this very name, after "the path".
#[must_use]
pub fn file_fault(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        Some("is empty")
    } else if path.starts_with('~') {
        Some("begins with `~`, which is not expanded")
    } else if path.chars().any(|letter| letter.is_control() || "%$\"\\".contains(letter)) {
        Some("contains `%`, `$`, `\"`, `\\` or a control character: SSH expands them")
    } else {
        None
    }
}

/// A path as the value of an option of the client, which opens the file of this very name.
///
/// # Errors
/// When the client would read every form of the path otherwise.
pub fn file_option(path: &str) -> Result<String, &'static str> {
    if path.is_empty() {
        return Err("is empty");
    }
    if path.contains("${") || path.chars().any(|letter| letter.is_control() || "\"\\".contains(letter)) {
        return Err("contains `${`, `\"`, `\\` or a control character: SSH expands them");
    }
    let here = if path.starts_with('~') { "./" } else { "" };
    Ok(format!("\"{here}{}\"", path.replace('%', "%%")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_would_expand_is_refused() {
        for good in ["root", "ubuntu", "_svc", "first.last", "a-b_c", "me@example.com"] {
            assert_eq!(user_fault(good), None, "{good}");
        }
        for bad in
            ["", "../../../elsewhere/key", "-oProxyCommand=x", "a b", "a\nb", "%r", "$HOME", "`id`", ".."]
        {
            assert!(user_fault(bad).is_some(), "{bad}");
        }
        for good in
            ["10.0.0.1", "cp-0.example.com", "2001:db8::1", "[2001:db8::1]", "fe80::1%eth0", "0xa9fea9fe"]
        {
            assert_eq!(address_fault(good), None, "{good}");
        }
        for bad in [
            "",
            "-oProxyCommand=x",
            "root@a.test",
            "ssh://a.test",
            "a.test/x",
            "%h",
            "a b",
            "$(id)",
            "fe80::1%",
            "[a.test]",
            "fe80::1%$(id)",
            "a.test%eth0",
        ] {
            assert!(address_fault(bad).is_some(), "{bad}");
        }
        for good in ["keys/id", "/home/me/.ssh/id", "a b/id", "a~/id"] {
            assert_eq!(file_fault(good), None, "{good}");
        }
        for bad in [
            "",
            "keys/%r",
            "%d/.ssh/id",
            "keys/${HOME}",
            "~/.ssh/id",
            "~root/.ssh/id",
            "a\"b",
            "a\\b",
            "a\nb",
        ] {
            assert!(file_fault(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn a_path_is_given_as_it_is() {
        assert_eq!(file_option("/a b/100%/id").as_deref(), Ok("\"/a b/100%%/id\""));
        assert_eq!(file_option("~/id").as_deref(), Ok("\"./~/id\""));
        assert_eq!(file_option("/a/$b").as_deref(), Ok("\"/a/$b\""));
        for bad in ["/a/${HOME}", "/a/\"b", "/a\\b", "/a\nb", ""] {
            assert!(file_option(bad).is_err(), "{bad}");
        }
    }
}

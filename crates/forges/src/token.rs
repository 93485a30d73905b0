//! The secret by which a forge knows its caller.

use std::fmt;

use zeroize::Zeroizing;

use crate::error::Error;

/// An access token. It is wiped when it is dropped, and never printed.
#[derive(Clone)]
pub struct Token(Zeroizing<String>);

impl Token {
    /// Takes a token; white space around it is removed, as of a file with a line feed at its end.
    ///
    /// # Errors
    /// [`Error::Token`] when it is empty, or has characters that cannot be in a header.
    pub fn new(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::Token);
        }
        Ok(Self(Zeroizing::new(text.to_owned())))
    }

    /// The text, for a header only.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// A text of the forge without the token, should the forge repeat it.
    pub(crate) fn hidden_in(&self, text: &str) -> String {
        text.replace(self.expose(), "[token]")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_printed() {
        let token = Token::new(" hunter2\n").unwrap();
        assert_eq!(token.expose(), "hunter2");
        assert_eq!(format!("{token:?}"), "Token");
        assert_eq!(token.hidden_in("bad token hunter2"), "bad token [token]");
        for text in ["", " \n", "a b", "a\r\nX-Other: b"] {
            assert!(Token::new(text).is_err(), "{text:?}");
        }
    }
}

//! Values, schemas, typed diff and the provider trait: the words every other crate speaks.

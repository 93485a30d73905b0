//! A provider in another language.

//! What the user says ([`environment`]) and is told ([`log`]).

pub(crate) mod environment;
pub(crate) mod log;

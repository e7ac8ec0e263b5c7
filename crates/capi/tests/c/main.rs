//! Tests of the C face as a C program meets it: installed somewhere by `make install-capi`, found by pkg-config.

mod calls;
mod compile;
mod examples;
mod header;
mod install;

mod symbols;

//! A program that knows only `/dev/ntsync`, with the library preloaded, whose device somebody else scribbles over.

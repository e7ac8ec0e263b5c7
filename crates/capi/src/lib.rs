//! The C face of ntux. `include/ntux.h` is its manual; each function here is documented there and nowhere else.
//!
//! Every function does the same three things: [`boundary`] turns what C passed into checked values, the arena does the
//! operation, and the result goes out as 0 or a negative error number.

mod arena;
mod boundary;
mod event;
mod mutex;
mod object;
mod semaphore;
mod wait;

pub use arena::{ntux_arena_attach, ntux_arena_create, ntux_arena_detach, ntux_arena_fd};
pub use event::{ntux_event_create, ntux_event_pulse, ntux_event_read, ntux_event_reset, ntux_event_set};
pub use mutex::{ntux_mutex_create, ntux_mutex_kill, ntux_mutex_read, ntux_mutex_unlock};
pub use object::ntux_object_close;
pub use semaphore::{ntux_semaphore_create, ntux_semaphore_read, ntux_semaphore_release};
pub use wait::{ntux_wait_all, ntux_wait_any};

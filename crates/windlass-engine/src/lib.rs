//! The heart: hears causes, writes down what they mean, does what follows, and looks at the world again.
//!
//! `factory` is the one loop. `record` alone writes task state. `perform` alone changes the world.
//! `sweep` looks and says what it saw. Everything a crash could lose is in the store before it is acted on.

mod builds;
mod causes;
mod clock;
mod factory;
mod host;
mod layout;
mod mirror;
mod outbox;
mod perform;
mod queue;
mod record;
mod sessions;
mod settings;
mod sweep;
mod workers;
mod world;

pub use clock::now;
pub use factory::{EngineError, Factory, Stop};
pub use layout::Layout;
pub use sessions::look as look_at_session;
pub use settings::{AgentKind, AgentSettings, CiSettings, Guards, Settings};

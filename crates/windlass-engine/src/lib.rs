//! The heart: hears causes, writes down what they mean, does what follows, and looks at the world again.
//!
//! `factory` is the daemon's loop around `heart`, which thinks. `record` alone writes task state. The heart reaches the
//! world through `outside` alone; `host` is the real one. `perform` alone changes the world, `sweep` looks and says
//! what it saw. Everything a crash could lose is in the store before it is acted on.

mod builds;
mod causes;
mod clock;
mod factory;
mod heart;
mod host;
mod inherit;
mod layout;
mod mirror;
mod outbox;
mod outside;
mod papers;
mod perform;
mod queue;
mod record;
mod reload;
pub mod room;
mod sessions;
mod settings;
mod sweep;
mod workers;
mod world;

pub use causes::{Cause, Seen, Stopping};
pub use clock::now;
pub use factory::{EngineError, Factory, Reload, Stop};
pub use heart::{Heart, Mind, Turn};
pub use inherit::{Left, inherited};
pub use layout::Layout;
pub use mirror::Page;
pub use outside::{Life, Outside, Question, Signs};
pub use papers::{Papers, Signal};
pub use perform::{Known, Landing, Outcome, Report, Started};
pub use queue::{Chained, MainMoved, Stack, Wanted};
pub use record::{Mirror, Order};
pub use reload::{CONFIG_TROUBLE, ConfigTrouble};
pub use sessions::{Look, digest as digest_session, look as look_at_session};
pub use settings::{AgentKind, AgentSettings, CiSettings, Guards, Reloaded, Settings};
pub use sweep::PAUSED;

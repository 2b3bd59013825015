//! Models that are searched to the last state: the landing protocol, and the task machine itself.

pub mod landing;
pub mod machine;

use std::fmt::Debug;
use std::hash::Hash;

use stateright::{Checker, Expectation, Model};

/// What a whole search came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    pub states: usize,
    /// Promises that do not hold, each with the way there.
    pub broken: Vec<Broken>,
    /// Situations that were to be seen and never came.
    pub unseen: Vec<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub promise: &'static str,
    pub way: Vec<String>,
}

impl Searched {
    /// Two searches as one: a promise is kept if both keep it, a situation is seen if one sees it.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.states += other.states;
        self.broken.extend(other.broken);
        self.unseen.retain(|name| other.unseen.contains(name));
        self
    }
}

/// Looks at every state that the model can reach.
fn search<M>(model: M) -> Searched
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Send + Sync + Debug + Clone + PartialEq,
    M::Action: Send + Sync + Debug + Clone + PartialEq,
{
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let checker = model.checker().threads(threads).spawn_bfs().join();

    let (mut broken, mut unseen) = (Vec::new(), Vec::new());
    for property in checker.model().properties() {
        match (property.expectation, checker.discovery(property.name)) {
            (Expectation::Always, Some(path)) => {
                let way = path.into_actions().iter().map(|action| format!("{action:?}")).collect();
                broken.push(Broken { promise: property.name, way });
            }
            (Expectation::Sometimes, None) => unseen.push(property.name),
            (_, _) => {}
        }
    }
    Searched { states: checker.unique_state_count(), broken, unseen }
}

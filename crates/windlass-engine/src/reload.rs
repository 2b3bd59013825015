//! A changed configuration, taken while work goes on; a bad one changes nothing and is said.

use serde::{Deserialize, Serialize};
use windlass_core::journal::FactoryFact;
use windlass_core::time::Millis;
use windlass_store::Op;

use crate::heart::Heart;
use crate::settings::Reloaded;

/// Under this key is kept what readers must know about the configuration.
pub const CONFIG_TROUBLE: &str = "config_trouble";

/// How the configuration on the disk differs from the one that is in force.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigTrouble {
    /// Why the newest one is not in force.
    pub refused: Option<String>,
    /// Keys that hold only after a restart.
    pub waiting: Vec<String>,
}

impl Heart {
    pub(crate) fn configured(&mut self, now: Millis, read: Result<Box<Reloaded>, String>) {
        match read {
            Ok(new) => {
                self.settings.take_over(&new.settings);
                self.book.take_policy(self.settings.policy.clone());
                self.outside.reconfigure(&self.settings);
                self.restless = true;
                self.say_trouble(ConfigTrouble { refused: None, waiting: new.waiting.clone() });
                self.book.log(now, FactoryFact::ConfigTaken { taken: new.taken, waiting: new.waiting });
            }
            Err(why) => {
                self.say_trouble(ConfigTrouble { refused: Some(why.clone()), waiting: Vec::new() });
                self.book.log(now, FactoryFact::ConfigRefused { why });
            }
        }
    }

    /// A daemon starts only with a configuration that is good.
    pub(crate) fn forget_config_trouble(&mut self) {
        self.say_trouble(ConfigTrouble::default());
    }

    fn say_trouble(&mut self, trouble: ConfigTrouble) {
        let text = serde_json::to_string(&trouble).expect("it is plain data");
        let value = (trouble != ConfigTrouble::default()).then_some(text);
        self.book.put(Op::SetControl { key: CONFIG_TROUBLE.into(), value });
    }
}

//! Kilo, which is made from OpenCode: the same plugin, in folders of its own.

use super::{Client, ConfigFile, ConfigPart, OPENCODE, opencode};

pub(crate) const KILO: Client = Client {
    name: "kilo",
    title: "Kilo",
    product: "Kilo",
    program: "kilo",
    files: &[
        ConfigFile {
            project: ".kilo/plugins/postrider.js",
            user: ".config/kilo/plugins/postrider.js",
            moved: "kilo/plugins/postrider.js",
            parts: &[ConfigPart::Module(opencode::PLUGIN)],
        },
        ConfigFile {
            project: "kilo.json",
            user: ".config/kilo/kilo.json",
            moved: "kilo/kilo.json",
            parts: &[ConfigPart::ServerInOneList],
        },
    ],
    next_in_project: "Restart kilo in this project.",
    next_for_user: "Restart kilo: sessions that run keep what they had.",
    ..OPENCODE
};

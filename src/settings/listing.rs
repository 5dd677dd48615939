//! Writes the settings in force as TOML, each with its source.

use super::Loaded;

impl Loaded {
    /// Every key with its value and, as a comment, its source. What comes out is a settings file that says the same.
    pub fn to_toml(&self) -> String {
        let sections = toml::Table::try_from(&self.settings).expect("settings are tables of plain values");
        let mut text = String::new();
        for (section, keys) in &sections {
            text.push_str(&format!("[{section}]\n"));
            for (key, value) in keys.as_table().into_iter().flatten() {
                let source = self.source(&format!("{section}.{key}"));
                text.push_str(&format!("{key} = {value}  # {source}\n"));
            }
            text.push('\n');
        }
        text
    }
}

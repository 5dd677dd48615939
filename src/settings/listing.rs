//! Writes the settings in force as TOML, each with its source.

use super::Loaded;

impl Loaded {
    /// Every key with its value and, as a comment, its source. What comes out is a settings file that says the same, but
    /// for the passwords in it: they are hidden.
    pub fn to_toml(&self) -> String {
        let sections = toml::Table::try_from(&self.settings).expect("settings are tables of plain values");
        let mut text = String::new();
        self.write_sections("", &sections, &mut text);
        text
    }

    /// The sections in `sections`, named behind `parent`. They nest as deep as the struct [`super::Settings`] does.
    fn write_sections(&self, parent: &str, sections: &toml::Table, text: &mut String) {
        for (section, keys) in sections {
            let Some(keys) = keys.as_table() else { continue };
            let section = format!("{parent}{section}");
            text.push_str(&format!("[{section}]\n"));
            for (key, value) in keys.iter().filter(|(_, value)| !value.is_table()) {
                let source = self.source(&format!("{section}.{key}"));
                text.push_str(&format!("{key} = {value}  # {source}\n"));
            }
            text.push('\n');
            self.write_sections(&format!("{section}."), keys, text);
        }
    }
}

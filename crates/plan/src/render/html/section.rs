//! The parts of the page below its head.

use super::super::markup;

/// A part of the page with a heading.
pub(super) struct Section {
    /// The name of its element.
    pub(super) id: &'static str,
    /// The heading.
    pub(super) title: String,
    /// How many things it is about; none where a number says nothing.
    pub(super) count: Option<usize>,
    /// Whether it needs attention before anything else.
    pub(super) is_urgent: bool,
    /// Its content as HTML.
    pub(super) body: String,
}

impl Section {
    /// Appends the section.
    pub(super) fn write(&self, out: &mut String) {
        let Self { id, body, .. } = self;
        let class = if self.is_urgent { "part urgent" } else { "part" };
        out.push_str(&format!("<section class=\"{class}\" id=\"{id}\" aria-labelledby=\"{id}-title\">\n"));
        out.push_str(&format!("<h2 id=\"{id}-title\">{}</h2>\n", self.heading()));
        out.push_str(body);
        out.push_str("</section>\n");
    }

    /// Appends the way to the section, for the contents of the page.
    pub(super) fn write_link(&self, out: &mut String) {
        out.push_str(&format!("<li><a href=\"#{}\">{}</a></li>\n", self.id, self.heading()));
    }

    fn heading(&self) -> String {
        let count = self.count.map(|count| format!(" <span class=\"count\">{count}</span>"));
        format!("{}{}", markup::text(&self.title), count.unwrap_or_default())
    }
}

//! Lists come in pages; a list is whole only when every page was read without an error.

use super::ForgeError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Where the next page starts; `None` on the last one.
    pub next: Option<Cursor>,
}

/// A forge's own mark for a place in a list. Only the forge that made it can read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub(super) String);

impl Cursor {
    /// For forges whose pages end at a number.
    pub(super) fn number(&self) -> Result<i64, ForgeError> {
        self.0.parse().map_err(|_| self.foreign())
    }

    pub(super) fn foreign(&self) -> ForgeError {
        ForgeError::Invalid { what: "the cursor", reason: format!("`{}` comes from another list", self.0) }
    }
}

/// Reads all pages, or fails: a page that could not be read is never taken for an empty one.
pub fn every<T>(
    mut read: impl FnMut(Option<&Cursor>) -> Result<Page<T>, ForgeError>,
) -> Result<Vec<T>, ForgeError> {
    let mut page = read(None)?;
    let mut items = page.items;
    while let Some(cursor) = page.next {
        page = read(Some(&cursor))?;
        items.append(&mut page.items);
        if page.next.as_ref() == Some(&cursor) {
            return Err(ForgeError::Broken { tried: "read the next page", source: Box::new(SamePage) });
        }
    }
    Ok(items)
}

#[derive(Debug, thiserror::Error)]
#[error("the page names itself as the next one")]
struct SamePage;

#[cfg(test)]
mod tests {
    use windlass_core::time::Span;

    use super::*;

    fn page(items: &[u32], next: Option<&str>) -> Page<u32> {
        Page { items: items.to_vec(), next: next.map(|text| Cursor(text.to_owned())) }
    }

    #[test]
    fn all_pages_are_read_in_order() {
        let items = every(|from| {
            Ok(match from.map(|cursor| cursor.0.as_str()) {
                None => page(&[1, 2], Some("a")),
                Some("a") => page(&[], Some("b")),
                Some(_) => page(&[3], None),
            })
        });
        assert_eq!(items.unwrap(), [1, 2, 3]);
    }

    #[test]
    fn an_error_on_a_later_page_is_an_error_of_the_whole_list() {
        let items = every(|from| match from {
            None => Ok(page(&[1], Some("a"))),
            Some(_) => Err(ForgeError::Limited { tried: "list issues", retry_after: Span::secs(60) }),
        });
        assert!(matches!(items, Err(ForgeError::Limited { .. })), "{items:?}");
    }

    #[test]
    fn a_page_that_leads_to_itself_ends_with_an_error() {
        let items = every(|_| Ok(page(&[1], Some("a"))));
        assert!(matches!(items, Err(ForgeError::Broken { .. })), "{items:?}");
    }
}

//! Where the panes are.

use ratatui::layout::Rect;

/// A pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Pane {
    List,
    Tree,
    Hex,
}

impl Pane {
    pub(super) fn next(self) -> Self {
        match self {
            Self::List => Self::Tree,
            Self::Tree => Self::Hex,
            Self::Hex => Self::List,
        }
    }
}

/// How the panes share the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// The list above, tree and bytes beside each other.
    Beside,
    /// All three one above the other.
    Stacked,
    /// The list above tree or bytes.
    Shared,
    /// One pane at a time.
    Alone,
}

impl Arrangement {
    /// What suits a screen.
    pub(super) fn fitting(width: u16, height: u16) -> Self {
        match (width, height) {
            (..40, _) | (_, ..16) => Self::Alone,
            (116.., _) => Self::Beside,
            (_, 34..) => Self::Stacked,
            _ => Self::Shared,
        }
    }

    /// All, in the order in which they are gone through.
    const ALL: [Self; 4] = [Self::Beside, Self::Stacked, Self::Shared, Self::Alone];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Beside => "tree and bytes beside each other",
            Self::Stacked => "all panes stacked",
            Self::Shared => "list above tree or bytes",
            Self::Alone => "one pane at a time",
        }
    }
}

/// What the reader has set of the layout.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// `None`: what suits the screen.
    pub(super) arrangement: Option<Arrangement>,
    /// Whether the pane that has the keys has the screen to itself.
    pub(super) zoomed: bool,
    /// Parts in a thousand of the height that the list gets.
    pub(super) list: u16,
    /// Parts in a thousand of the width that the tree gets; `None`: what the bytes leave.
    pub(super) tree: Option<u16>,
    /// Whether the detail is a pane or one line.
    pub(super) detail: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self { arrangement: None, zoomed: false, list: 333, tree: None, detail: false }
    }
}

/// The places of everything on the screen. A pane's title is the line above it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Areas {
    pub(super) bar: Rect,
    pub(super) list: Rect,
    pub(super) tree_title: Rect,
    pub(super) tree: Rect,
    pub(super) hex_title: Rect,
    pub(super) hex: Rect,
    pub(super) detail: Rect,
    pub(super) foot: Rect,
    /// The line between tree and bytes, where they are beside each other.
    pub(super) divider: Rect,
}

/// Columns of the screen from which on the detail has two columns.
pub(super) const DETAIL_BESIDE: u16 = 100;
/// Columns that bytes need to be 16 in a row.
const HEX: u16 = 75;
/// Rows and columns that a pane keeps, whatever it is set to.
const LEAST: u16 = 3;
const LEAST_WIDTH: u16 = 20;

impl Layout {
    /// The arrangement on a screen.
    pub(super) fn arrangement(&self, screen: Rect) -> Arrangement {
        if self.zoomed {
            return Arrangement::Alone;
        }
        self.arrangement.unwrap_or_else(|| Arrangement::fitting(screen.width, screen.height))
    }

    /// The next arrangement that looks otherwise; behind the last one comes what suits the screen.
    pub(super) fn next(&self, screen: Rect) -> Option<Arrangement> {
        let fitting = Arrangement::fitting(screen.width, screen.height);
        let behind = Arrangement::ALL.iter().position(|arrangement| Some(*arrangement) == self.arrangement);
        let rest = Arrangement::ALL.into_iter().skip(behind.map_or(0, |at| at + 1));
        rest.into_iter().find(|arrangement| *arrangement != fitting)
    }

    /// Places everything, for the pane that has the keys and the one below the list that had them last.
    pub(super) fn areas(&self, screen: Rect, focus: Pane, lower: Pane) -> Areas {
        let mut areas = Areas::default();
        let (bar, rest) = split(screen, 1);
        let (rest, foot) = split(rest, rest.height.saturating_sub(1));
        let rows = if screen.width >= DETAIL_BESIDE { 8 } else { 10 };
        let wanted = if self.detail { (screen.height / 3).min(rows) } else { 1 };
        let detail = if rest.height > LEAST + 1 { wanted } else { 0 };
        let (panes, detail) = split(rest, rest.height.saturating_sub(detail));
        areas.bar = bar;
        areas.foot = foot;
        areas.detail = detail;
        let room = panes.height.saturating_sub(LEAST + 1).max(1);
        let list = (u32::from(panes.height) * u32::from(self.list) / 1000) as u16;
        let list = list.clamp(LEAST.min(room), room);
        match self.arrangement(screen) {
            Arrangement::Alone => areas.place(panes, focus),
            Arrangement::Shared => {
                let (above, below) = split(panes, list);
                areas.list = above;
                areas.place(below, lower);
            }
            Arrangement::Stacked => {
                let (above, below) = split(panes, list);
                areas.list = above;
                let (tree, hex) = split(below, below.height / 2);
                areas.place(tree, Pane::Tree);
                areas.place(hex, Pane::Hex);
            }
            Arrangement::Beside => {
                let (above, below) = split(panes, list);
                areas.list = above;
                let usual = below.width.saturating_sub(HEX + 1).max(below.width / 3);
                // More than names and values need is better given to more bytes in a row.
                let usual = if below.width >= 220 { below.width - 144 } else { usual };
                let set = self.tree.map(|parts| (u32::from(below.width) * u32::from(parts) / 1000) as u16);
                let most = below.width.saturating_sub(LEAST_WIDTH + 1).max(LEAST_WIDTH);
                let width = set.unwrap_or(usual).clamp(LEAST_WIDTH, most);
                let left = Rect { width: width.min(below.width), ..below };
                let divider = Rect { x: left.right(), width: 1.min(below.right() - left.right()), ..below };
                let right = Rect { x: divider.right(), width: below.right() - divider.right(), ..below };
                areas.place(left, Pane::Tree);
                areas.place(right, Pane::Hex);
                // A column of air between the line and the offsets.
                let air = 1.min(areas.hex.width);
                areas.hex = Rect { x: areas.hex.x + air, width: areas.hex.width - air, ..areas.hex };
                areas.divider = divider;
            }
        }
        areas
    }
}

impl Areas {
    /// The whole screen.
    pub(super) fn screen(&self) -> Rect {
        self.bar.union(self.foot)
    }

    /// Puts a pane into an area, its title in the first line.
    fn place(&mut self, area: Rect, pane: Pane) {
        let (title, below) = split(area, 1);
        match pane {
            Pane::List => self.list = area,
            Pane::Tree => (self.tree_title, self.tree) = (title, below),
            Pane::Hex => (self.hex_title, self.hex) = (title, below),
        }
    }
}

/// The upper rows of an area, and the rest.
fn split(area: Rect, height: u16) -> (Rect, Rect) {
    let height = height.min(area.height);
    (Rect { height, ..area }, Rect { y: area.y + height, height: area.height - height, ..area })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrangements_are_gone_through_and_around() {
        for (width, height) in [(40, 12), (80, 24), (80, 40), (120, 40)] {
            let screen = Rect::new(0, 0, width, height);
            let mut layout = Layout::default();
            let mut seen = vec![layout.arrangement(screen)];
            while let Some(next) = layout.next(screen) {
                layout.arrangement = Some(next);
                seen.push(layout.arrangement(screen));
                assert!(seen.len() <= 4);
            }
            assert!(Arrangement::ALL.iter().all(|arrangement| seen.contains(arrangement)), "{seen:?}");
        }
    }

    /// Whatever the size, nothing lies outside of the screen or over another thing.
    #[test]
    fn areas_do_not_overlap() {
        let arrangements = [
            None,
            Some(Arrangement::Beside),
            Some(Arrangement::Stacked),
            Some(Arrangement::Shared),
            Some(Arrangement::Alone),
        ];
        for (width, height) in [(0, 0), (1, 1), (20, 4), (40, 12), (80, 24), (120, 40), (200, 60), (400, 9)] {
            for arrangement in arrangements {
                for (list, tree, detail) in [(333, None, false), (999, Some(999), true), (0, Some(0), true)] {
                    let layout = Layout { arrangement, zoomed: false, list, tree, detail };
                    let screen = Rect::new(0, 0, width, height);
                    let areas = layout.areas(screen, Pane::Tree, Pane::Tree);
                    let all = [
                        areas.bar,
                        areas.list,
                        areas.tree_title,
                        areas.tree,
                        areas.hex_title,
                        areas.hex,
                        areas.detail,
                        areas.foot,
                        areas.divider,
                    ];
                    for (at, area) in all.iter().enumerate().filter(|(_, area)| !area.is_empty()) {
                        assert_eq!(screen.intersection(*area), *area, "{layout:?} {width}x{height}");
                        for other in all.iter().skip(at + 1) {
                            assert!(area.intersection(*other).is_empty(), "{layout:?} {width}x{height} {areas:?}");
                        }
                    }
                }
            }
        }
    }
}

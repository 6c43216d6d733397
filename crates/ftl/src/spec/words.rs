//! Values of parts as numbers, and enums as words.

/// A value of a part that is a number.
pub(crate) trait Number: Copy {
    fn number(self) -> u32;
    fn of(number: u32) -> Self;
}

impl Number for u32 {
    fn number(self) -> u32 {
        self
    }

    fn of(number: u32) -> Self {
        number
    }
}

impl Number for bool {
    fn number(self) -> u32 {
        self.into()
    }

    fn of(number: u32) -> Self {
        number > 0
    }
}

/// The words of an enum, in the order in which they are listed.
macro_rules! words {
    ($type:ident { $first:ident = $first_word:literal $(, $variant:ident = $word:literal)* }) => {
        impl $type {
            pub(crate) const WORDS: &'static [&'static str] = &[$first_word $(, $word)*];

            /// Its name.
            pub(crate) fn word(self) -> &'static str {
                match self {
                    Self::$first => $first_word,
                    $(Self::$variant => $word),*
                }
            }
        }

        impl $crate::spec::Number for $type {
            fn number(self) -> u32 {
                Self::WORDS.iter().position(|word| *word == self.word()).unwrap_or_default() as u32
            }

            fn of(number: u32) -> Self {
                [Self::$first $(, Self::$variant)*].get(number as usize).copied().unwrap_or(Self::$first)
            }
        }
    };
}

pub(crate) use words;

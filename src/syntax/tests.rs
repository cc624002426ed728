//! Tests of reading: texts against what they say.

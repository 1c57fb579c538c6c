//! Parts of the sharing tracker.

automod::dir!("tracker");

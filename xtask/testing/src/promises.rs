//! Makes one test of each promise. The promises are functions of `mail`, and the build script lists them.

/// Makes one test of each promise of a store, in a module for each noun.
///
/// `$fresh` names an async function that returns an empty store as `mail::contract::Shared` and a guard that is kept until
/// the promise was checked, or `None` where it has said that there is no such engine here.
#[macro_export]
macro_rules! store_contract {
    (@tests $($noun:ident { $($promise:ident($($store:ident),+))+ })+) => {$(
        mod $noun {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                // Each is dropped before its guard, which comes behind it.
                $(let Some($store) = super::fresh_store().await else { return };)+
                mail::contract::$noun::$promise($(&$store.0),+).await;
            }
        )+}
    )+};
    ($fresh:path) => {
        async fn fresh_store() -> Option<(mail::contract::Shared, impl std::any::Any)> {
            $fresh().await
        }
        $crate::promises_of_stores! {}
    };
}

/// Makes one test of each promise of a provider, or of those that are named.
///
/// `$fresh` names an async function that returns a provider without deliveries as `mail::provider::suite::Shared`, and
/// a guard that is kept until the promise was checked; or `None`, when a program is missing without which there is
/// nothing to check.
#[macro_export]
macro_rules! provider_suite {
    (@tests $($promise:ident(first))+) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $promise() {
            let Some((provider, _guard)) = fresh_provider().await else { return };
            mail::provider::suite::$promise(&provider).await;
        }
    )+};
    (@fresh $fresh:path) => {
        async fn fresh_provider() -> Option<(mail::provider::suite::Shared, impl std::any::Any)> {
            Option::from($fresh().await)
        }
    };
    ($fresh:path) => {
        $crate::provider_suite! { @fresh $fresh }
        $crate::promises_of_providers! {}
    };
    ($fresh:path: $($promise:ident),+ $(,)?) => {
        $crate::provider_suite! { @fresh $fresh }
        $crate::provider_suite! { @tests $($promise(first))+ }
    };
}

/// The same for what backends of ours promise of mail that was archived.
#[macro_export]
macro_rules! kept_suite {
    (@tests $($promise:ident(first))+) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $promise() {
            let Some((provider, _guard)) = fresh_provider().await else { return };
            mail::provider::suite::kept::$promise(&provider).await;
        }
    )+};
    ($fresh:path) => {
        $crate::provider_suite! { @fresh $fresh }
        $crate::promises_of_keepers! {}
    };
}

include!(concat!(env!("OUT_DIR"), "/promises.rs"));

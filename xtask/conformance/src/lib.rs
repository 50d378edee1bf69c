//! Nothing: the server is the example of this package, and a package has to have a library or a program.

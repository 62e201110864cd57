//! Nothing: the tests beside this are the package.

//! The operations on the simulated cloud, called as a controller calls them: no terminal, no process of the program.

mod applying;
mod interrupted;
mod planning;
mod refusing;
mod world;

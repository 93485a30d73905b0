//! kubeadm's configuration documents, read and written.

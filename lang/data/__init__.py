"""Storage for elements: SNode trees, fields, ndarrays, and memory that is shared with other libraries."""

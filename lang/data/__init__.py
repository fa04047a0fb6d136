"""What holds elements: SNode trees, fields, ndarrays, and the memory that they share with other libraries."""

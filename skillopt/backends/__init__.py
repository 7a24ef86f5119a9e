"""Who answers: one file per kind of backend, behind one Protocol."""

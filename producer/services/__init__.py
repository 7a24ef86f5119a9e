"""The services of a team: workers, coordinators, the API, Flower; alone or all on one machine."""

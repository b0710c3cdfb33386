"""From operations to steps over one fixed workspace; `planned_ad.planner` is the front door."""

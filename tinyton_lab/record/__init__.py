"""The currency between compiler, engines and screens: plain, frozen data about what happened."""

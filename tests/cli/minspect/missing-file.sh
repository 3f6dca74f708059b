minspect no/such.so

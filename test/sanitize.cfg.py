# Options of the sanitizers, for the presets asan and tsan; shared by both lit configurations.
if config.ppc_sanitize:
    config.environment["CC"] = config.ppc_build + "/bin/ppc-cc"
else:
    config.available_features.add("unsanitized")
if "thread" in config.ppc_sanitize:
    config.environment["TSAN_OPTIONS"] = f"suppressions={config.ppc_source}/test/races.supp:halt_on_error=1"
if "address" in config.ppc_sanitize:
    config.available_features.add("sanitize")
    config.environment["ASAN_OPTIONS"] = ":".join([
        "detect_container_overflow=0",  # the packaged LLVM is not instrumented, and containers cross the border
        "detect_odr_violation=0",       # inline variables live in the packaged libraries and in ours
        # LLVM's arena allocator poisons memory that it has not handed out; if our instrumented copy of it makes an
        # arena and the
        # packaged one hands memory out of it, the poison is never lifted
        "allow_user_poisoning=0",
        "strict_init_order=0",
        "detect_stack_use_after_return=0",
    ])
    config.environment["UBSAN_OPTIONS"] = "print_stacktrace=1"
    config.environment["LSAN_OPTIONS"] = f"suppressions={config.ppc_source}/test/leaks.supp:print_suppressions=0"

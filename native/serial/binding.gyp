{
  "targets": [
    {
      "target_name": "serial",
      "sources": [
        "../common/failure.cc",
        "../common/job.cc",
        "src/addon.cc",
        "src/blocking.cc",
        "src/opening.cc",
        "src/pace.cc",
        "src/passing-calls.cc",
        "src/passing.cc",
        "src/port.cc",
        "src/pty.cc",
        "src/relay.cc",
        "src/settings.cc",
        "src/uucp-lock.cc",
        "src/wake.cc"
      ],
      "include_dirs": ["../common"],
      "defines": ["NAPI_VERSION=9"],
      "cflags_cc": ["-std=c++20", "-Wall", "-Wextra", "-Wno-unused-parameter", "-O2"]
    }
  ]
}

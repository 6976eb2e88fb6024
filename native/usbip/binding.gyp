{
  "targets": [
    {
      "target_name": "usbip",
      "sources": [
        "../common/failure.cc",
        "../common/job.cc",
        "src/addon.cc",
        "src/ask.cc",
        "src/held.cc",
        "src/listening.cc",
        "src/tcp.cc",
        "src/uevents.cc"
      ],
      "include_dirs": ["../common"],
      "defines": ["NAPI_VERSION=9"],
      "cflags_cc": ["-std=c++20", "-Wall", "-Wextra", "-Wno-unused-parameter", "-O2"]
    }
  ]
}

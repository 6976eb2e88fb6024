{
  "targets": [
    {
      "target_name": "process",
      "sources": ["src/addon.cc"],
      "defines": ["NAPI_VERSION=9"],
      "cflags_cc": ["-std=c++20", "-Wall", "-Wextra", "-Wno-unused-parameter", "-O2"]
    }
  ]
}

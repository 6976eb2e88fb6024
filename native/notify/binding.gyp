{
  "targets": [
    {
      "target_name": "notify",
      "sources": ["src/notify.cc"],
      "defines": ["NAPI_VERSION=9"],
      "cflags_cc": ["-std=c++20", "-Wall", "-Wextra", "-Wno-unused-parameter", "-O2"]
    }
  ]
}

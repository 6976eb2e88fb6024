{
  "targets": [
    {
      "target_name": "argon2",
      "sources": ["src/addon.cc"],
      "include_dirs": ["../common"],
      "defines": ["NAPI_VERSION=9"],
      "cflags_cc": ["-std=c++20", "-Wall", "-Wextra", "-Wno-unused-parameter", "-O2"]
    }
  ]
}

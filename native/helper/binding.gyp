{
  "targets": [
    {
      "target_name": "plantroom-helper",
      "type": "executable",
      "sources": [
        "src/answer.cc",
        "src/callers.cc",
        "src/checks.cc",
        "src/command.cc",
        "src/files.cc",
        "src/installer.cc",
        "src/lamp.cc",
        "src/listening.cc",
        "src/machine.cc",
        "src/main.cc",
        "src/network.cc",
        "src/options.cc",
        "src/request.cc",
        "src/usbip.cc",
        "src/verbs.cc"
      ],
      "defines": ["_FORTIFY_SOURCE=2"],
      "cflags_cc": ["-std=c++20", "-Wall", "-Wextra", "-O2", "-fPIE", "-fstack-protector-strong"],
      "cflags!": ["-fPIC"],
      "ldflags": ["-pie", "-Wl,-z,relro,-z,now"],
      "ldflags!": ["-rdynamic"]
    }
  ]
}

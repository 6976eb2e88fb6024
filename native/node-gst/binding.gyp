{
  "targets": [
    {
      "target_name": "node-gst",
      "sources": [
        "../common/failure.cc",
        "../sound/arrival-window.cc",
        "../sound/card-samples.cc",
        "../sound/concealer.cc",
        "../sound/drift.cc",
        "../sound/fade.cc",
        "../sound/format-finder.cc",
        "../sound/gain-ramp.cc",
        "../sound/lag-search.cc",
        "../sound/reception.cc",
        "../sound/repeat.cc",
        "../sound/rtp-packet.cc",
        "../sound/sample-ring.cc",
        "../sound/sender-gate.cc",
        "../sound/sequence-account.cc",
        "../sound/sound-past.cc",
        "../sound/stream-place.cc",
        "../sound/voice.cc",
        "src/addon.cc",
        "src/app-calls.cc",
        "src/card-element.cc",
        "src/card-pcm.cc",
        "src/card-sink.cc",
        "src/card-source.cc",
        "src/clock.cc",
        "src/clock-calls.cc",
        "src/drift-element.cc",
        "src/elements.cc",
        "src/messages.cc",
        "src/pacer.cc",
        "src/pipeline.cc",
        "src/pipeline-calls.cc",
        "src/playout.cc",
        "src/properties.cc",
        "src/realtime.cc",
        "src/receive-socket.cc",
        "src/receiver.cc",
        "src/receiver-calls.cc",
        "src/rtp-sink.cc",
        "src/rtp-source.cc",
        "src/send-path.cc",
        "src/sender.cc",
        "src/sender-calls.cc",
        "src/start.cc",
        "src/value.cc"
      ],
      "include_dirs": ["../common", "../sound"],
      "defines": ["NAPI_VERSION=9"],
      # The folder of this machine's own system headers is left out: an arm64 board has others.
      "cflags_cc": [
        "-std=c++20",
        "-Wall",
        "-Wextra",
        "-Wno-unused-parameter",
        "-O2",
        "<!@(pkg-config --cflags gstreamer-base-1.0 gstreamer-audio-1.0 | sed 's|-I/usr/include/[a-z0-9_]*-linux-gnu *||')"
      ],
      "libraries": [
        "-Wl,--no-as-needed",
        "-lgstaudio-1.0",
        "-lgstbase-1.0",
        "-lgstreamer-1.0",
        "-lgobject-2.0",
        "-lglib-2.0",
        "-lasound"
      ]
    }
  ]
}

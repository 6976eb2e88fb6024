{
  "targets": [
    {
      "target_name": "node-gst",
      "sources": [
        "../common/failure.cc",
        "src/addon.cc",
        "src/arrival-window.cc",
        "src/card-element.cc",
        "src/card-pcm.cc",
        "src/card-samples.cc",
        "src/card-sink.cc",
        "src/card-source.cc",
        "src/clock-calls.cc",
        "src/clock.cc",
        "src/concealer.cc",
        "src/drift-element.cc",
        "src/drift.cc",
        "src/elements.cc",
        "src/fade.cc",
        "src/format-finder.cc",
        "src/gain-ramp.cc",
        "src/lag-search.cc",
        "src/messages.cc",
        "src/pacer.cc",
        "src/pipeline-calls.cc",
        "src/pipeline.cc",
        "src/playout.cc",
        "src/properties.cc",
        "src/realtime.cc",
        "src/receive-socket.cc",
        "src/receiver-calls.cc",
        "src/receiver.cc",
        "src/reception.cc",
        "src/repeat.cc",
        "src/rtp-packet.cc",
        "src/rtp-sink.cc",
        "src/rtp-source.cc",
        "src/sample-ring.cc",
        "src/send-path.cc",
        "src/sender-calls.cc",
        "src/sender-gate.cc",
        "src/sender.cc",
        "src/sequence-account.cc",
        "src/sound-past.cc",
        "src/start.cc",
        "src/stream-place.cc",
        "src/value.cc",
        "src/voice.cc"
      ],
      "include_dirs": ["../common"],
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

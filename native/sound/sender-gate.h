/**
 * Whose packets of a group are ours. Where no source is named, the first one heard is kept until it has been silent for
 * a while; of one address, a new synchronisation source counts once the old one has gone.
 */
#pragma once

#include <cstdint>

enum class Gate { open, otherSource, otherSsrc };

class SenderGate {
 public:
  /** @param source IPv4 address as on the wire, 0: whoever is first @param goneNs of silence after which others may follow */
  SenderGate(uint32_t source, int64_t goneNs) : named(source), goneNs(goneNs) {}

  /** Asked of every datagram, before anything of it is read. */
  bool isOther(uint32_t address, int64_t nowNs) const {
    return named != 0 ? address != named : isHeld(nowNs) && address != holder;
  }
  /** An RTP packet of `address`, which isOther() let pass. */
  Gate take(uint32_t address, uint32_t ssrc, int64_t nowNs);
  /** Who is being heard; 0: nobody. */
  uint32_t sender(int64_t nowNs) const { return isHeld(nowNs) ? holder : 0; }
  uint32_t synchronisationSource() const { return ssrc; }
  /** True once after each change of the synchronisation source. */
  bool takeChange();

 private:
  /** So many packets in a row of a new synchronisation source, none of the old one between them, are a new start. */
  static constexpr int NEW_IN_A_ROW = 3;

  bool isHeld(int64_t nowNs) const { return holder != 0 && nowNs - heardNs <= goneNs; }

  const uint32_t named;
  const int64_t goneNs;
  uint32_t holder = 0;
  uint32_t ssrc = 0;
  int64_t heardNs = 0;
  uint32_t nextSsrc = 0;
  int nextCount = 0;
  bool hasChanged = false;
};

/**
 * Descriptions as senders of various makes write them: their lines, order and spelling. Names, addresses and numbers
 * are made up.
 */

/** Dante in AES67 mode: clock and media clock at the end, an offset that is not 0, `keywds` and channel names. */
export const dante = [
  'v=0',
  'o=- 1423986 1423994 IN IP4 10.1.5.20',
  's=STAGE-BOX-04 : 2',
  'c=IN IP4 239.65.20.154/32',
  't=0 0',
  'a=keywds:Dante',
  'm=audio 5004 RTP/AVP 97',
  'i=4 channels: Vox 1, Vox 2, Piano L, Piano R',
  'a=recvonly',
  'a=rtpmap:97 L24/48000/4',
  'a=ptime:1',
  'a=ts-refclk:ptp=IEEE1588-2008:00-1D-C1-FF-FE-A0-B1-C2:0',
  'a=mediaclk:direct=3560866135',
  '',
].join('\r\n')

/** RAVENNA by ALC NetworX: clock with the session, `clock-domain`, `sync-time`, `framecount`, LF alone. */
export const ravenna = [
  'v=0',
  'o=- 7 0 IN IP4 10.1.6.31',
  's=ALC_Demo_2',
  'c=IN IP4 239.1.6.31/15',
  't=0 0',
  'a=clock-domain:PTPv2 0',
  'a=ts-refclk:ptp=IEEE1588-2008:00-0b-72-ff-fe-07-d6-e4:0',
  'a=mediaclk:direct=0',
  'm=audio 5004 RTP/AVP 98',
  'c=IN IP4 239.1.6.31/15',
  'a=rtpmap:98 L16/48000/8',
  'a=source-filter: incl IN IP4 239.1.6.31 10.1.6.31',
  'a=sync-time:0',
  'a=framecount:48',
  'a=palign:0',
  'a=recvonly',
  '',
].join('\n')

/** Q-SYS: everything with the medium, domain left out. */
export const qsys = [
  'v=0',
  'o=- 1671034 1671034 IN IP4 10.1.7.9',
  's=Core-110f AES67-TX-1',
  'c=IN IP4 239.7.1.9/32',
  't=0 0',
  'm=audio 6518 RTP/AVP 96',
  'a=rtpmap:96 L24/48000/8',
  'a=ptime:1',
  'a=ts-refclk:ptp=IEEE1588-2008:00-60-74-FF-FE-F1-02-03',
  'a=mediaclk:direct=1234567890',
  'a=recvonly',
  '',
].join('\r\n')

/** Lawo by ST 2110-30: 0.125 ms rounded, packets twice on two networks, `traceable` beside the grandmaster. */
export const lawo = [
  'v=0',
  'o=Lawo AG 9120 4 IN IP4 172.16.4.2',
  's=A__mic8 Tx 12',
  't=0 0',
  'a=group:DUP pri sec',
  'a=ts-refclk:ptp=IEEE1588-2008:traceable',
  'a=ts-refclk:ptp=IEEE1588-2008:EC-46-70-FF-FE-0A-0B-0C:domain-nmbr=127',
  'a=mediaclk:direct=0',
  'm=audio 5004 RTP/AVP 98',
  'c=IN IP4 239.10.4.2/64',
  'a=source-filter: incl IN IP4 239.10.4.2 172.16.4.2',
  'a=rtpmap:98 L24/48000/8',
  'a=fmtp:98 channel-order=SMPTE2110.(51,ST)',
  'a=framecount:6',
  'a=ptime:0.12',
  'a=mid:pri',
  'm=audio 5004 RTP/AVP 98',
  'c=IN IP4 239.11.4.2/64',
  'a=source-filter: incl IN IP4 239.11.4.2 172.17.4.2',
  'a=rtpmap:98 L24/48000/8',
  'a=fmtp:98 channel-order=SMPTE2110.(51,ST)',
  'a=framecount:6',
  'a=ptime:0.12',
  'a=mid:sec',
  '',
].join('\r\n')

/** Merging: name with signs, packet time with the session, several formats, second medium over IPv6. */
export const merging = [
  'v=0',
  'o=- 4 0 IN IP4 169.254.63.2',
  's=Horus_80174_MicLine 1-8 (éà)',
  't=0 0',
  'a=clock-domain:PTPv2 1',
  'a=ptime:0.333333',
  'a=ts-refclk:ptp=IEEE1588-2008:00-0B-72-FF-FE-01-02-03:1',
  'a=mediaclk:direct=0',
  'c=IN IP4 239.63.2.1/15',
  'm=audio 5004 RTP/AVP 99 98',
  'a=rtpmap:98 L24/48000/2',
  'a=rtpmap:99 DSD64_32/48000/2',
  'a=sync-time:0',
  'a=framecount:16',
  'm=audio 5006 RTP/AVP 98',
  'c=IN IP6 ff15::101/64',
  'a=rtpmap:98 L24/48000/2',
  '',
].join('\r\n')

/** AES3 frames, by ST 2110-31. */
export const am824 = dante.replace('L24/48000/4', 'AM824/48000/4')

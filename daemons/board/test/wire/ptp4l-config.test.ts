/** Tests of wire/linuxptp.ts. */
import t from 'tap'
import { ptp4lConfig } from '../../wire/linuxptp.ts'

const options = {
  interface: 'eth0',
  domain: 3,
  priority1: 100,
  dscpEvent: 46,
  dscpGeneral: 34,
  socket: '/var/lib/plantroom/board/ptp4l.sock',
  version: '3.1.1',
}

const lines = (text: string) => text.trimEnd().split('\n')

t.test('AES67 annex A: intervals, domain, priority and marks; two-step, end-to-end, UDPv4', async (t) => {
  const config = lines(ptp4lConfig(options))
  for (const line of [
    'domainNumber 3',
    'priority1 100',
    'logAnnounceInterval 1',
    'logSyncInterval -3',
    'logMinDelayReqInterval 0',
    'announceReceiptTimeout 2',
    'dscp_event 46',
    'dscp_general 34',
    'twoStepFlag 1',
    'network_transport UDPv4',
    'delay_mechanism E2E',
    'free_running 1',
    'time_stamping software',
    'uds_address /var/lib/plantroom/board/ptp4l.sock',
  ])
    t.ok(config.includes(line), line)
  t.equal(config[0], '[global]')
  t.equal(config.at(-1), '[eth0]')
})

t.test('3.1.1 gets no option that it does not know, 4.x gets those it needs', async (t) => {
  t.notMatch(ptp4lConfig(options), /uds_ro_address|ptp_minor_version/)
  t.notMatch(ptp4lConfig({ ...options, version: '4.0' }), /ptp_minor_version/)
  t.match(ptp4lConfig({ ...options, version: '4.0' }), 'uds_ro_address /var/lib/plantroom/board/ptp4l.sock.ro\n')
  for (const version of ['4.2', '4.4', '5.0', '4.2-00012-gabcdef'])
    t.match(ptp4lConfig({ ...options, version }), 'ptp_minor_version 0\n', version)
})

/** Whether the threads of sound run at real-time priority, for people. */

/** @param realtime as a pipeline says it */
export function realtimeView({ asked, granted, error }: { asked: number; granted: boolean; error: string | null }) {
  if (asked === 0) return { granted: false, text: 'Real-time priority is switched off in board.toml.' }
  if (granted) return { granted: true, text: `Sound runs with real-time priority ${asked}.` }
  if (error === null) return { granted: false, text: 'No thread of sound has begun yet.' }
  return {
    granted: false,
    text: `The system refuses real-time priority (${error}): a busy machine sends and plays late. LimitRTPRIO allows it.`,
  }
}

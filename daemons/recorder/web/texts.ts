/** Texts of the recorder's pages. Text between the tags of a template stays in the template. */

export const role = 'Video recorder'
export const cameras = 'Cameras'
export const askingRecorder = 'Asking the recorder'
export const version = (number: string) => `Version ${number}`
export const noCameras = 'No cameras yet'
export const howToAdd = 'An administrator adds one by its address: POST /api/discovery/rtsp.'
export const nobodyYet = 'Nobody can sign in yet'
export const howToSetUp = 'Make the first administrator: POST /api/setup, from this network.'

/** How a camera is, in a word. */
export const stateWords = {
  off: 'Off',
  connecting: 'Connecting',
  starting: 'Waiting for pictures',
  recording: 'Recording',
  lost: 'Lost',
  refused: 'Wrong password',
  unsupported: 'Not supported',
} as const

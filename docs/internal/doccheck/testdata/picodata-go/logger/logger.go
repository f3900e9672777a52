package logger

type LogLevel uint8

const LevelError LogLevel = 4

module.exports = "hello";

# gateway
